"""Words with a meaning of their own in tables: blanks, true and false."""

BLANKS = ("", "na", "n/a", "nan", "null", "none")
# Programs and spreadsheets write these, in several languages.
TRUE = ("true", "wahr", "vrai", "verdadero", "vero")
FALSE = ("false", "falsch", "faux", "falso")

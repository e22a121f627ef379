"""What a person looks at: figures, plots and report pages."""

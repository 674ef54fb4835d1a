"""Independent reference evaluator for the query language, written from its documentation."""

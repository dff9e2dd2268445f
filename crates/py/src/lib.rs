//! PyO3 glue of the Python package. No decisions.

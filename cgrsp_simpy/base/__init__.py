"""The model: dataclasses and laws, without simulation."""

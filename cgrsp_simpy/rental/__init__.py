"""The thesis: jobs with deadlines on GPU slots that are rented by the second."""

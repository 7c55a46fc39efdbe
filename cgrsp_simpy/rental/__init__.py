"""Model of the thesis: jobs with deadlines on GPU slots rented by the second."""

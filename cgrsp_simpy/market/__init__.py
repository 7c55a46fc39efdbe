"""Stock and prices of rented GPUs: the model, measured series, zones of spot GPUs."""

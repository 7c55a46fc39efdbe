"""Stock and prices of rented GPUs: the law, measured series, zones of spot GPUs."""

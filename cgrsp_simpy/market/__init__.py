"""Stock and prices of rented GPUs: model, recorded series, and zones of spot GPUs."""

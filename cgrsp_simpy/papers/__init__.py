"""The papers: their tables and figures, all regenerated with a manifest."""

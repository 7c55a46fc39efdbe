"""From runs to figures: metrics, statistics."""

"""The thesis: its printed tables, the runs behind them, and the two side by side."""

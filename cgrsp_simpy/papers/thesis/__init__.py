"""Tables and figures of the thesis, with published and reproduced values."""

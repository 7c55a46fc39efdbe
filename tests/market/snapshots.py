"""Series of spot instances as files have them."""

import json


def trace(data, gap=600):
    return json.dumps({"metadata": {"gap_seconds": gap}, "data": data})

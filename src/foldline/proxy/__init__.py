"""The proxy: stands between an agent and its provider, so that what the provider sees fits. Only the door is here.

    guard → bodies → skim → fitting → relay → learn          one request, in this order (door.py)

What is to be shown is decided by `foldline.compactor`. The servers and clients this needs are the extra [proxy];
nothing is imported here, so that whoever does not use it pays nothing.
"""

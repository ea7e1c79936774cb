#!/usr/bin/env python3
"""Starts the application and talks with it: test.py [path/to/troupe]"""

import os
import subprocess
import sys

TROUPE = sys.argv[1] if len(sys.argv) > 1 else "troupe"
HERE = os.path.dirname(os.path.abspath(__file__))
server = subprocess.Popen(
    [TROUPE, "serve", "--config", os.path.join(HERE, "troupe.toml"), "--port", "0",
     "--admin", "off"],
    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

try:
    for line in server.stderr:
        if "tick 2" in line:
            break
finally:
    server.terminate()
    _, log = server.communicate()
assert server.returncode == 0, log
print("ok")

"""A gateway some of whose limits are others: `limited_gateway.py '{"STUCK_SECONDS": 3}' cluster --libraries ...`"""

import json
import sys

from mucast_engine.__main__ import main
from mucast_engine.cluster import gateway, node

# Each module that uses a limit has it by name. What is sent to nodes has limits of its own.
modules = [
    module for name, module in sys.modules.items() if name.startswith(gateway.__package__) and module is not node
]
for name, seconds in json.loads(sys.argv.pop(1)).items():
    places = [module for module in modules if hasattr(module, name)]
    assert places, name
    for module in places:
        setattr(module, name, seconds)
main()

"""``python -m resaudit``."""

import sys

from resaudit.cli import main

sys.exit(main())

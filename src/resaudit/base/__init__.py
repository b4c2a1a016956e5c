"""What everything rests on: errors, models, texts, files, and where papers are."""

"""What event logs become: JUnit XML, Markdown, JSON and one HTML page, each made from the events alone."""

"""Results of runs on the terminal, as JUnit and as the page of claims."""

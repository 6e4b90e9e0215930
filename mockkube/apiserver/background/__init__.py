"""What an API server does unasked, all the time it runs. It is no part of answering requests; read `chores` first."""

"""What plugins are given and what they answer: statuses, pods, nodes, extension points, events that help."""

"""What can be done with an object besides reading and writing it: one module per subresource."""

"""What runs as long as people answer: the review server, and who keeps it supplied."""

"""Active-HACC (Biswas and Jacobs, CVPR 2012): ask the question that would change a constrained single-link grouping most."""

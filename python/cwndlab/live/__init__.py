"""What is measured on real paths: `cwndlab.live.preflight` looks before anything is sent."""

//! VMAF-family temporal features (`motion`, `float_motion`, SpEED), bit for bit what libvmaf's CPU code gives.

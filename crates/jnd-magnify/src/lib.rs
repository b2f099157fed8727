//! Eulerian video magnification: makes changes too small to see visible.

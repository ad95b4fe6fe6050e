// Package rig is package stage for tests: real processes, the command pawl, built
// once for each test binary, applications in other languages that it runs, and a
// witness that they tell what happens to. All that a process prints is logged if the
// test fails.
//
// What npm has to install is installed by [NPM], next to the package.json that
// asks for it, once. Where there is no npm, or no registry, tests fail and say so;
// PAWL_SKIP_NODE=1 skips them instead, which continuous integration (CI=true) does
// not accept.
package rig

'use strict';
// Loaded before the module of a thread, which gets nothing of what its process has loaded already,
// and of a process that a node starts (quick-load.cjs).

require('./quick-load.cjs').loadQuickly();

'use strict';
// Loaded before the module of a thread, which gets nothing of what its process has loaded already
// (quick-load.cjs).

require('./quick-load.cjs').loadQuickly();

'use strict';
// Loaded before the module of a thread, which inherits no modules from its process, and of a
// process that a node starts (quick-load.cjs).

require('./quick-load.cjs').loadQuickly();

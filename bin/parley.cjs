'use strict';
// The entry of every npm script: says what to do where this Node cannot run the rest, and becomes
// src/app/main.ts where it can.

require('./runtime.cjs').requireRuntime({ atInstall: false });
require('./quick-load.cjs').loadQuickly();
void import('../src/app/main.ts');

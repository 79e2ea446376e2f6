/**
 * Loaded in front of each test file (package.json, tap). Of what tap does for comfort, two things
 * cost more processor time than the tests:
 *
 * - Its loader hook, which is for coverage alone, sends every module through a worker. Without
 *   `register` there is none.
 * - It follows every promise to know which test an error belongs to that nobody waits for. Without
 *   `createHook` such an error ends the process, with its stack on standard error, and fails the
 *   file.
 *
 * Without these two lines test/by-folder/conversations.test.ts and access.test.ts take 19.6 s of
 * processor time in place of 16.9 s: 16 % more, and the whole suite is to take 450 s of it
 * (test/verdict/README.md).
 */

import asyncHooks from 'node:async_hooks';
import module from 'node:module';
import './quick-start.js';

const none = { enable: () => none, disable: () => none };
module.register = () => undefined;
asyncHooks.createHook = () => none;
module.syncBuiltinESMExports();

// Leaves them out for processes that a test starts.
delete process.env.NODE_OPTIONS;

/**
 * The part of `@dbos-inc/dbos-sdk` that the guide on workflows calls, in memory: what waits for a
 * message waits here as well, and a message with a key that was sent is dropped.
 */

import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage();
const inboxes = new Map();
const keys = new Set();

function inboxOf(workflowId, topic) {
  const name = `${workflowId} ${topic}`;
  if (!inboxes.has(name)) inboxes.set(name, Promise.withResolvers());
  return inboxes.get(name);
}

let isLaunched = false;

export const DBOS = {
  get workflowID() {
    return current.getStore();
  },
  setConfig({ name }) {
    if (typeof name !== 'string') throw new TypeError('a name is missing');
  },
  async launch() {
    isLaunched = true;
  },
  registerWorkflow: (workflow) => workflow,
  runStep: (step) => step(),
  recv: (topic) => inboxOf(current.getStore(), topic).promise,
  async send(workflowId, message, topic, key) {
    if (keys.has(key)) return;
    keys.add(key);
    inboxOf(workflowId, topic).resolve(message);
  },
  startWorkflow(workflow, { workflowID }) {
    if (!isLaunched) throw new Error('it was not launched');
    return async (...args) => {
      const result = current.run(workflowID, () => workflow(...args));
      return { getResult: () => result };
    };
  },
  async shutdown() {
    isLaunched = false;
  },
};

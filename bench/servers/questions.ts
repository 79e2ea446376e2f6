/**
 * Calls `answer` with the value of this field, for each message of the runner that has it. For
 * modules that are loaded before a control (`--import`): Node keeps messages until somebody
 * listens, and would hand the first one, which the control waits for, to this module alone.
 */
export function onQuestion(field: string, answer: (value: unknown) => void): void {
  const early: object[] = [];
  process.on('message', (message: Readonly<Record<string, unknown>>) => {
    if (field in message) answer(message[field]);
    else if (process.listenerCount('message') === 1) early.push(message);
  });
  process.on('newListener', (event) => {
    if (event !== 'message') return;
    for (const message of early.splice(0))
      process.nextTick(() => process.emit('message', message, undefined));
  });
}

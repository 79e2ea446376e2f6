/** How a control is told what to do: the messages of the runner, and of itself. */
export interface Start {
  /** The frame to fan out: the very bytes that Parley makes of a message. */
  readonly frame: string;
}
export interface Credit {
  /** How many more frames may be published, one a turn of the event loop. */
  readonly credit: number;
}
export interface Listening {
  readonly port: number;
}

/**
 * Publishes one frame a turn of the event loop, as long as there is credit: the runner gives it as the
 * subscribers take what was published, so that nothing piles up. `publish` runs once a turn.
 */
export function publishOnCredit(publish: () => void): void {
  let credit = 0;
  let scheduled = false;
  const turn = () => {
    credit -= 1;
    publish();
    // From inside an immediate, the next one comes in the next turn of the loop.
    if (credit > 0) setImmediate(turn);
    else scheduled = false;
  };
  process.on('message', (message: Partial<Credit>) => {
    credit += message.credit ?? 0;
    if (credit <= 0 || scheduled) return;
    scheduled = true;
    setImmediate(turn);
  });
}

/** Resolves with the frame that the runner wants fanned out. */
export function startMessage(): Promise<Start> {
  return new Promise((resolve) => {
    const listen = (message: Partial<Start>) => {
      if (message.frame === undefined) return;
      process.off('message', listen);
      resolve({ frame: message.frame });
    };
    process.on('message', listen);
  });
}

export function listening(port: number): void {
  process.send?.({ port } satisfies Listening);
}

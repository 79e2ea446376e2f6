/** The orders to a control: the messages of the runner, and its own. */
export interface Start {
  /** The frame to fan out: the same bytes that Parley makes of a message. */
  readonly frame: string;
}
/** The same for a control that answers requests. */
export interface Answers extends Start {
  /** `201 Created` */
  readonly status: string;
}
interface Credit {
  /** The number of further frames to publish, all in one turn of the event loop. */
  readonly credit: number;
}
export interface Listening {
  readonly port: number;
}

/**
 * Publishes as many messages as each credit allows, one credit a turn of the event loop. The runner
 * gives credits as the subscribers receive, so that no backlog builds up.
 */
export function publishOnCredit(publish: () => void): void {
  const credits: number[] = [];
  const turn = () => {
    for (let left = credits.shift() ?? 0; left > 0; left--) publish();
    // From inside an immediate, the next one comes in the next turn of the loop.
    if (credits.length > 0) setImmediate(turn);
  };
  process.on('message', ({ credit }: Partial<Credit>) => {
    if (credit === undefined) return;
    credits.push(credit);
    if (credits.length === 1) setImmediate(turn);
  });
}

/** Resolves with the runner's first message: the frame to fan out, and further values. */
export function startMessage<Message extends Start>(): Promise<Message> {
  return new Promise((resolve) => {
    const listen = (message: Message | Partial<Start>) => {
      if (message.frame === undefined) return;
      process.off('message', listen);
      resolve(message as Message);
    };
    process.on('message', listen);
  });
}

export function listening(port: number): void {
  process.send?.({ port } satisfies Listening);
}

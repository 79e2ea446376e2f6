import type { Disposer } from '../../src/platform/lifecycle.ts';
import type { Answers, Listening } from '../controls/delivery-loop.ts';
import { ServerProcess } from './server-process.ts';

/** A bare uWebSockets.js server that answers everything alike. */
export interface Answering {
  readonly process: ServerProcess;
  readonly port: number;
}

export async function startAnswering(
  disposer: Disposer,
  answers: Answers,
  nodeFlags: readonly string[] = [],
): Promise<Answering> {
  const options = { entry: 'bench/controls/uws-answers.ts', nodeFlags };
  const process = disposer.add('uws', new ServerProcess(options), (it) => it.stop());
  process.tell(answers);
  return { process, port: (await process.message<Listening>()).port };
}

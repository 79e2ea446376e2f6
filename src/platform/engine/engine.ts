import type { Frame } from './frame.ts';
import type { Engine as EngineOf } from './port.ts';

/** The engine that carries these frames between the nodes. */
export type Engine = EngineOf<Frame>;

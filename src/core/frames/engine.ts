import type { Engine as EngineOf } from '../../platform/engine/engine.ts';
import type { Frame } from './frame.ts';

/** The engine that carries these frames between the nodes. */
export type Engine = EngineOf<Frame>;

import { defineHook } from '../../platform/hooks.ts';
import type { NodeSettings } from './node-settings.ts';

/** The name in `settings` by which triggers leave notes only where a node has the feature. */
export const SETTING = defineHook<string>('node.setting');

/** Returns the providers of models that a node uses, for the log line of its start. */
export const MODEL_PROVIDERS =
  defineHook<(config: NodeSettings) => readonly string[]>('node.model_providers');

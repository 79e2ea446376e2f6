'use client';

/** The parts of a chat without their looks: hooks that know the elements of a page. */

export { authorIdOf } from '../../timeline/author.ts';
export type { MessageItem, TimelineItem } from '../../timeline/timeline-items.ts';
export type { ChosenFile } from '../../writing/uploads.ts';
export {
  type ComposerField,
  type ComposerOptions,
  type ComposerState,
  type DropTarget,
  useComposer,
} from './use-composer.ts';
export type { Mentionable } from './use-mentions.ts';
export { type TimelineOptions, type TimelineState, useTimeline } from './use-timeline.ts';

'use client';
/** Plain parts of a chat for React, with a class name for each element; `parts.css` styles them. */

export { Bell, type BellProps } from './bell.tsx';
export { Composer, type ComposerProps } from './composer.tsx';
export { Inbox, type InboxProps } from './inbox.tsx';
export { Message, type MessageActions, type MessageProps } from './message.tsx';
export { Thread, type ThreadProps } from './thread.tsx';
export { Timeline, type TimelineProps } from './timeline.tsx';
export { ENGLISH, type PartProps, type Words } from './words.ts';

import type { WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { Avatar } from '@parley/ui/elements/avatar.tsx';
import { IconButton } from '@parley/ui/elements/button.tsx';
import { comingTimeOf } from '@parley/ui/text/time.ts';
import { ArrowLeft, X } from 'lucide';
import type { WidgetTexts } from '../texts/widget-texts.ts';

export interface HeadProps {
  readonly widget: WidgetPublic;
  readonly texts: WidgetTexts;
  /** Whether it is all of the panel's upper part, and not the line above a conversation. */
  readonly isLarge: boolean;
  /** Undefined where there is nothing to go back to. */
  readonly onBack: (() => void) | undefined;
  /** Undefined for the frame as a page of its own. */
  readonly onClose: (() => void) | undefined;
}

/** The team to the visitor: its name, its faces, and when it answers. */
export function Head({ widget, texts, isLarge, onBack, onClose }: HeadProps) {
  const { persona, team = [] } = widget;
  const presence = presenceOf(widget, texts);
  return (
    <header class="chat-head" data-large={isLarge}>
      {onBack && <IconButton icon={ArrowLeft} label={texts.earlier} class="chat-back" onClick={onBack} />}
      <span class="chat-faces">
        <Avatar name={persona.name} url={persona.avatar_url} size={isLarge ? 44 : 34} />
        {team.map(({ name, avatar_url }, index) => (
          <Avatar key={index} name={name} url={avatar_url} size={isLarge ? 44 : 34} />
        ))}
      </span>
      <div class="chat-team">
        <h1 dir="auto">{persona.name}</h1>
        {team.length > 0 && (
          <p class="hidden-visually">
            {texts.team}: {team.map(({ name }) => name).join(', ')}
          </p>
        )}
        {presence !== '' && (
          <p class="chat-presence" data-open={widget.is_open}>
            {presence}
          </p>
        )}
      </div>
      {onClose && <IconButton icon={X} label={texts.close} class="chat-close" onClick={onClose} />}
    </header>
  );
}

/** Returns when the team answers, or when it is back. */
function presenceOf({ is_open, opens_at, answers_in }: WidgetPublic, texts: WidgetTexts): string {
  if (!is_open) return opens_at === null ? texts.away : texts.backAt(comingTimeOf(opens_at));
  switch (answers_in) {
    case 'minutes':
      return texts.answersInMinutes;
    case 'hour':
      return texts.answersInHour;
    case 'day':
      return texts.answersInDay;
    default:
      return '';
  }
}

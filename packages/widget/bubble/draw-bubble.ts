import type { UnreadAnswers } from '@parley/protocol/resources/widget.ts';
import type { WidgetTexts } from '../texts/widget-texts.ts';

type Answer = NonNullable<UnreadAnswers['newest']>;

export interface BubbleActs {
  onOpen(): void;
  onDismiss(messageId: string): void;
}

/** Draws the bubble of an answer: a status for screen readers, which opens the panel. */
export function drawBubble(texts: WidgetTexts, { onOpen, onDismiss }: BubbleActs) {
  let shown: Answer | null = null;
  const style = new CSSStyleSheet();
  style.replaceSync(STYLE);
  document.adoptedStyleSheets = [style];
  const status = document.createElement('div');
  status.setAttribute('role', 'status');
  const open = button('open', onOpen);
  const [name, words] = [document.createElement('strong'), document.createElement('span')];
  words.dir = 'auto';
  open.append(name, words);
  const close = button('dismiss', () => shown !== null && onDismiss(shown.message_id));
  close.setAttribute('aria-label', texts.dismiss);
  close.textContent = '×';
  document.body.replaceChildren(status);
  addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') close.click();
  });
  return {
    show(answer: Answer | null): void {
      const isSame = shown?.message_id === answer?.message_id;
      shown = answer;
      if (isSame) return;
      name.textContent = answer?.sender_name ?? '';
      words.textContent = answer === null ? '' : answer.text || texts.attachment;
      // A status that gets its content is read out.
      status.replaceChildren(...(answer === null ? [] : [open, close]));
    },
  };
}

function button(name: string, onClick: () => void): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = name;
  made.addEventListener('click', onClick);
  return made;
}

const STYLE = `
:root{color-scheme:light dark;font:14px/1.4 system-ui,sans-serif}
body{margin:0}
[role=status]{display:flex;height:100vh;background:Canvas;color:CanvasText}
button{border:0;background:none;color:inherit;font:inherit;cursor:pointer}
button:focus-visible{outline:2px solid currentcolor;outline-offset:-4px}
.open{flex:1;min-width:0;padding:12px 14px;text-align:start}
.open>*{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.open>span{display:-webkit-box;white-space:normal;-webkit-box-orient:vertical;-webkit-line-clamp:2}
.dismiss{align-self:start;width:44px;height:44px;font-size:20px}`;

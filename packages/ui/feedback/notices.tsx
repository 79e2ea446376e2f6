import { X } from 'lucide';
import { useSyncExternalStore } from 'preact/compat';
import { Button, IconButton } from '../elements/button.tsx';
import { uiTexts } from '../texts/ui-texts.ts';
import { current, follow, remove, takeUp } from './notify.ts';

/** Shows the notices of the page; it stands there once. */
export function Notices() {
  const shown = useSyncExternalStore(follow, current);
  return (
    <div class="notices" role="status">
      {shown.map((notice) => (
        <p key={notice.id} class={notice.isProblem ? 'notices-one notices-problem' : 'notices-one'}>
          {notice.text}
          {notice.action !== null && (
            <Button look="plain" class="notices-action" onClick={() => takeUp(notice)}>
              {notice.action.label}
            </Button>
          )}
          <IconButton icon={X} label={uiTexts.feedback.dismiss} onClick={() => remove(notice)} />
        </p>
      ))}
    </div>
  );
}

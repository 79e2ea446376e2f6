import { X } from 'lucide';
import { useSyncExternalStore } from 'preact/compat';
import { IconButton } from '../elements/button.tsx';
import { current, follow, remove } from './notify.ts';

/** Shows the notices of the page; it stands there once. */
export function Notices() {
  const shown = useSyncExternalStore(follow, current);
  return (
    <div class="notices" role="status">
      {shown.map((notice) => (
        <p key={notice.id} class={notice.isProblem ? 'notices-one notices-problem' : 'notices-one'}>
          {notice.text}
          <IconButton icon={X} label="Dismiss" onClick={() => remove(notice)} />
        </p>
      ))}
    </div>
  );
}

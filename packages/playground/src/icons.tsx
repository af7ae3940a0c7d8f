const PATHS = {
  attach:
    'M20 11.5 12 19.4a5 5 0 0 1-7.1-7l8.5-8.5a3.3 3.3 0 0 1 4.7 4.7l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4l7.8-7.8',
  braces:
    'M9 4C7 4 7 5 7 7s0 4-2.5 5C7 13 7 15 7 17s0 3 2 3M15 4c2 0 2 1 2 3s0 4 2.5 5C17 13 17 15 17 17s0 3-2 3',
  chat: 'M4 5h16v11H11l-5 4v-4H4z',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  done: 'M5 12.5l4.5 4.5L19 7.5',
  down: 'M12 5v14M6 13l6 6 6-6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  edit: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  erase: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  left: 'M14 6l-6 6 6 6',
  menu: 'M4 7h16M4 12h16M4 17h10',
  plus: 'M12 5v14M5 12h14',
  retry: 'M19 12a7 7 0 1 1-2.3-5.2M19 4v4h-4',
  right: 'M10 6l6 6-6 6',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M6.5 6.5h11v11h-11z',
  wire: 'M4 8h13M13 4l4 4-4 4M20 16H7M11 12l-4 4 4 4',
  tool: 'M8 8l-4 4 4 4M16 8l4 4-4 4M13.5 6l-3 12',
} as const;

/** An icon. It is no name: the control that has it needs one. */
export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

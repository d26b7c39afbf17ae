toll_align_loops(${target})
